// The rules in force, for a test to query: the cost of one warp's access.

#ifdef __cplusplus
extern "C" {
#endif

i32 global_sectors(const i64* address, u32 active, i32 width);
i32 global_atomic_sectors(const i64* address, u32 active);
i32 shared_wavefronts(const i64* address, u32 active, i32 width, i32 is_load);
i32 shared_wavefronts_ideal(const i64* address, u32 active, i32 width, i32 is_load);
i32 shared_atomic_wavefronts(const i64* address, u32 active, i32 cost);
// For loads and stores in machine code.

#ifdef __cplusplus
}
#endif
