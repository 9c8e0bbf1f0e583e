"""nvcc options that a candidate may request: only those that change arithmetic."""

FLAGS = ("--use_fast_math", "-use_fast_math", "--fmad=false", "-fmad=false", "--ftz=true",
         "-ftz=true", "--prec-div=false", "-prec-div=false", "--prec-sqrt=false",
         "--restrict", "-restrict")  # fmt: skip
