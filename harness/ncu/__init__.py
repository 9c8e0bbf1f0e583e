"""Nsight Compute as a subprocess: the requests to it, its outcomes, and the conversion of its
reports to counters.

metrics.yaml and metrics.py define what is requested; command_line.py finds the program and builds
its command; collect.py runs it over the project's own worker, one batch of cases at a time;
container.py and reader.py turn its reports into records. Reading a report needs neither ncu nor a
GPU.
"""
