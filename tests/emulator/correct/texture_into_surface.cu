// Each thread fetches its right neighbour's texel, which does not exist for the last of a row, and
// stores it to a surface, where it lies four bytes times x from the row's beginning.
// LAUNCH shift<<<8, 8>>>(texture[8x8], surface[8x8], float[64]=0)
// CHECK (a[2].reshape(8, 8) == a[0].texels[:, [1, 2, 3, 4, 5, 6, 7, 7]]).all() and (a[1].texels.reshape(-1) == a[2]).all()
extern "C" __global__ void shift(cudaTextureObject_t from, cudaSurfaceObject_t to, float* out) {
    const int x = threadIdx.x, y = blockIdx.x;
    surf2Dwrite(tex2D<float>(from, x + 1.5f, y + 0.5f), to, 4 * x, y);
    out[8 * y + x] = surf2Dread<float>(to, 4 * x, y);
}
