// A surface's x counts bytes, but elements here: all but every fourth access straddle two texels.
// LAUNCH scale<<<4, 8>>>(surface[4x8])
extern "C" __global__ void scale(cudaSurfaceObject_t values) {
    const float value = surf2Dread<float>(values, threadIdx.x, blockIdx.x);  // FAULT: out of bounds
    surf2Dwrite(2.0f * value, values, threadIdx.x, blockIdx.x);  // FAULT: out of bounds
}
