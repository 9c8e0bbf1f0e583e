// Compares with a name that it never declared: its parameter is called `threshold`.
__device__ bool overlap(float4 a, float4 b, float threshold) {
    const float width = fmaxf(fminf(a.z, b.z) - fmaxf(a.x, b.x), 0.0f);
    const float height = fmaxf(fminf(a.w, b.w) - fmaxf(a.y, b.y), 0.0f);
    const float both = width * height;
    const float areas = (a.z - a.x) * (a.w - a.y) + (b.z - b.x) * (b.w - b.y);
    return both > iou_threshold * (areas - both);
}

extern "C" __global__ void nms(const float4* boxes, int* keep, unsigned int n, float threshold) {
    for (unsigned int i = 0; i < n; i++) {
        keep[i] = 1;
        for (unsigned int j = 0; j < i; j++) {
            if (keep[j] && overlap(boxes[i], boxes[j], threshold)) keep[i] = 0;
        }
    }
}
