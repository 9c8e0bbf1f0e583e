"""Options of nvcc that a candidate may ask for: those that change arithmetic, and nothing else."""

FLAGS = ("--use_fast_math", "-use_fast_math", "--fmad=false", "-fmad=false", "--ftz=true",
         "-ftz=true", "--prec-div=false", "-prec-div=false", "--prec-sqrt=false",
         "--restrict", "-restrict")  # fmt: skip
