"""Pages of sites: the websites that report visits, their snippets, and the test of one."""
