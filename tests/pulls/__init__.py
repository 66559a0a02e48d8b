import pytest

pytest.register_assert_rewrite("tests.pulls.checks")
