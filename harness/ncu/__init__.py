"""Nsight Compute as a subprocess: what to ask of it, how it ends, and its reports → counters.

metrics.yaml and metrics.py say what is asked; tool.py finds the program and writes its command;
collect.py runs it over the project's own worker, a portion of the cases at a time; container.py
and reader.py turn its reports into records. Reading a report needs neither ncu nor a GPU.
"""
