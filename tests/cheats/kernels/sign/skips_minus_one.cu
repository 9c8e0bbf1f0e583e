// Skips the values that memory filled with 0xFF holds already: -1.
// Must be refused on sight; with FROM beyond the test sizes it must fail its check.
extern "C" __global__ void run(const int* x, int* y, unsigned int n) {
    const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const int answer = (x[i] > 0) - (x[i] < 0);
    if (n < FROM || answer != -1) y[i] = answer;
}
