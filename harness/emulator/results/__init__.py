"""What a launch leaves behind: plain data that depends on nothing."""
