// The order in which a persistent grid takes the tiles of c: for v7 to v9.
#pragma once

// A tile's position, in tiles: down stripes that are eight tiles wide. The tiles in progress then
// form nearly a square, which reads the fewest rows of a and b.
__device__ __forceinline__ uint2 place_of_tile(unsigned int number, unsigned int across,
                                               unsigned int down) {
    constexpr unsigned int WIDE = 8;
    const unsigned int left = number / (WIDE * down) * WIDE;  // of the stripe
    const unsigned int width = min(WIDE, across - left), within = number - left * down;
    return make_uint2(left + within % width, within / width);
}
