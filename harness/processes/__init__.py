"""The harness's processes: starting, forking, listening, limiting and ending them."""
