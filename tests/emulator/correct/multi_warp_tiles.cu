// Tiles of two warps, which exchange data in shared memory that the system reserves for them.
// LAUNCH k<<<2, 128>>>(int[256])
// CHECK (a[0].reshape(4, 64) == 2 * was[0].reshape(4, 64).sum(1)[:, None] + 7).all()
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
extern "C" __global__ void k(int* x) {
    __shared__ cg::block_tile_memory<128> memory;
    __shared__ int s[128];
    auto tile = cg::tiled_partition<64>(cg::this_thread_block(memory));
    unsigned t = threadIdx.x, i = blockIdx.x * 128 + t;
    s[t] = cg::reduce(tile, x[i], cg::plus<int>());
    tile.sync();
    x[i] = s[t] + s[t ^ 63] + (tile.any(t % 64 == 40) ? 7 : 0);
}
