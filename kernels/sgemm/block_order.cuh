// The order in which the blocks of a grid take the tiles of a matrix.
#pragma once

// A block's tile position, in tiles: down stripes that are `group` tiles wide. Concurrent blocks
// then form nearly a square; with a stripe as wide as the grid they form a flat band.
__device__ __forceinline__ uint2 tile_of_block(unsigned int group) {
    const unsigned int block = blockIdx.y * gridDim.x + blockIdx.x;
    const unsigned int left = block / (group * gridDim.y) * group;  // of the stripe
    const unsigned int width = min(group, gridDim.x - left);
    const unsigned int within = block % (group * gridDim.y);
    return make_uint2(left + within % width, within / width);
}
