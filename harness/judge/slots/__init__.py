"""The processes that submissions are judged in.

pool         as many as may judge at a time, started ahead, and replaced where one is lost
process      one of them: a fork for each submission, which runs its folder and tells the verdicts
folder_runs  a folder run as `python -m harness run` runs one
walls        the sandbox around a process
"""
