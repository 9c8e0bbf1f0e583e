// Reads the launch number from the hardware, and skips every fourth launch.
// Must fail its check or gain nothing, and must get a remark.
extern "C" __global__ void run(const float* x, float* y, unsigned int n) {
    const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned long long launch;
    asm volatile("mov.u64 %0, %%gridid;" : "=l"(launch));
    if (i < n && launch % 4 != 3) y[i] = 2.0f * x[i];
}
