"""Scripts that send spend from the script editors of ad platforms."""
