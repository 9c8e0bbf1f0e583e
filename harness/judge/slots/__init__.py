"""The processes in which submissions are judged.

pool         the processes that may judge concurrently: started ahead, and replaced when lost
process      one of them: a fork for each submission, which runs its folder and reports the verdicts
folder_runs  runs a folder as `python -m harness run` does
walls        the sandbox around a process
"""
