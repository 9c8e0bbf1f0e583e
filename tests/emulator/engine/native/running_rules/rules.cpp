#include "memory/bank_and_sector_rules.h"

using namespace machine;
using machine::Access;

#include "rules.h"

namespace {

Access of(const i64* address, u32 active, i32 width) {
    Access access;
    access.active = active;
    access.width = width;
    for (int i = 0; i < LANES; i++) access.address[i] = address[i];
    machine::survey(access);
    return access;
}

}  // namespace

i32 global_sectors(const i64* address, u32 active, i32 width) {
    return machine::global_sectors(of(address, active, width));
}

i32 global_atomic_sectors(const i64* address, u32 active) {
    const Access access = of(address, active, 4);
    return machine::global_atomic_sectors(access, machine::collisions(access),
                                          machine::global_sectors(access));
}

i32 shared_wavefronts(const i64* address, u32 active, i32 width, i32 is_load) {
    return machine::shared_wavefronts(of(address, active, width), is_load).spent;
}

i32 shared_wavefronts_ideal(const i64* address, u32 active, i32 width, i32 is_load) {
    return machine::shared_wavefronts(of(address, active, width), is_load).ideal;
}

i32 shared_atomic_wavefronts(const i64* address, u32 active, i32 cost) {
    const Access access = of(address, active, 4);
    return machine::shared_atomic_wavefronts(access, machine::collisions(access), cost).spent;
}
