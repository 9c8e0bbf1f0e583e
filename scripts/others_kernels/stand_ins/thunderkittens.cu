// ThunderKittens' forward attention for Hopper; KERNEL is its file up to the host code.
#include KERNEL

#include "checked.h"

template <int D, bool CAUSAL>
int attention(int rows) {
  using Globals = fwd_globals<D>;
  const unsigned n = static_cast<unsigned>(rows), d = D;
  checked::Array<bf16> q(rows * D, -2, 2), k(rows * D, -2, 2), v(rows * D, -2, 2), o(rows * D, 0, 0);
  checked::Array<float> l(rows, 0, 0);
  typename Globals::q_gl of_q{q.device, 1U, 1U, n, d};
  typename Globals::k_gl of_k{k.device, 1U, 1U, n, d};
  typename Globals::v_gl of_v{v.device, 1U, 1U, n, d};
  typename Globals::l_gl of_l{l.device, 1U, 1U, 1U, n};
  typename Globals::o_gl of_o{o.device, 1U, 1U, n, d};
  Globals globals{of_q, of_k, of_v, of_l, of_o, rows, 1};
  const int shared = kittens::MAX_SHARED_MEMORY - 1024;
  const dim3 grid(rows / (CONSUMER_WARPGROUPS * 64), 1, 1);
  fwd_attend_ker<D, CAUSAL><<<grid, 32 * NUM_WORKERS, shared>>>(globals);
  const auto wanted =
      checked::attention(q.values.data(), k.values.data(), v.values.data(), rows, D, CAUSAL);
  return checked::compared(CAUSAL ? "causal" : "whole", o.read(), wanted, 0.01);
}

int main() { return attention<64, false>(384) + attention<64, true>(384) + attention<128, true>(384); }
