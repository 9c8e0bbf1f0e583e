// Kernels that measure nothing themselves: they put the stream and the L2 cache into a known state
// before a measurement.

// Holds its stream until the host sets *flag, or until the deadline: grid 1, block 1.
//
// The hazard it removes: the host needs a few microseconds for each launch or event it enqueues. If
// a kernel is shorter than that, the GPU idles between two of them, and the events around it then
// measure the host. Therefore: enqueue this kernel, enqueue the events and launches to be measured,
// and only then set the flag. The GPU finds all of them waiting.
//
// flag       one word in pinned host memory that is mapped into the device's address space; zero
//            before the launch. The host writes it through its own address.
// timeout_ns the time after which the kernel gives up, so that a host that dies or deadlocks does
//            not leave the GPU spinning. Seconds, not milliseconds: a held batch may take long to
//            enqueue.
// timed_out one word in device or mapped memory; 1 if the deadline came first, else 0. After a
//            time-out the batch was not held, and its times must be discarded.
//
// Rules while the stream is held:
//   - Anything on the host that waits for the device waits for the deadline: a synchronous copy,
//     an event or stream synchronisation, allocating or freeing memory, and loading code. With
//     lazy loading the first launch of a kernel loads code: run each kernel once before.
//   - The queue of a stream is finite (about a thousand entries). When it is full the next launch
//     blocks the host, which then never sets the flag: keep batches to a few hundred entries.
//   - A profiler runs one kernel at a time, to its end, before the host continues. Do not hold the
//     stream under one.
//   - The legacy default stream waits for every blocking stream, and they for it.
extern "C" __global__ void hold_stream(const volatile unsigned int* flag,
                                       unsigned long long timeout_ns, unsigned int* timed_out) {
    // %globaltimer counts nanoseconds regardless of the SM's clock; it advances in steps of up to
    // about a microsecond, which is precise enough for a deadline.
    unsigned long long start;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
    unsigned long long now = start;

    // volatile: each iteration reads the host's memory again instead of a register.
    while (*flag == 0 && now - start < timeout_ns) {
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    }
    *timed_out = *flag == 0 ? 1u : 0u;
}

// Does nothing: it takes one launch phase, so that the next kernel gets a different one. grid 1,
// block 1.
extern "C" __global__ void pass_turn() {}

// Emptying the L2 cache, so that the next launch finds its input in memory. In this order:
//   1. write_buffer over a buffer of at least twice the L2: evicts the data of earlier launches.
//      But it leaves dirty lines in the cache, which would be written back during the timed launch
//      and share the memory's bandwidth with it.
//   2. read_buffer over another buffer of at least twice the L2, which has not been written since
//      the last flush: evicts the dirty lines; their write-back happens during this launch, and the
//      remaining lines are clean and cost nothing to drop.
// Twice the L2 because its replacement is not exactly least-recently-used, and because on large
// parts a line can be held by both halves of the cache.
//
//   write_buffer: grid sm_count * 8, block 256, args [buffer, count]
//   read_buffer:  grid sm_count * 8, block 256, args [buffer, count, sink]
//
// buffer is 16-byte aligned, count its length in float4, up to 2^30. Any grid and block will do.
extern "C" __global__ void write_buffer(float4* buffer, unsigned int count) {
    const unsigned int threads = gridDim.x * blockDim.x;
    for (unsigned int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += threads) {
        buffer[i] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    }
}

// sink is one float. It is not written: the sum is compared with a NaN that no sum produces, which
// the compiler cannot know, so it has to keep the loads.
extern "C" __global__ void read_buffer(const float4* buffer, unsigned int count, float* sink) {
    const unsigned int threads = gridDim.x * blockDim.x;
    float x = 0.0f;
    for (unsigned int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += threads) {
        const float4 v = buffer[i];
        x += (v.x + v.y) + (v.z + v.w);
    }
    if (__float_as_uint(x) == 0x7fc0beefu) *sink = x;
}
