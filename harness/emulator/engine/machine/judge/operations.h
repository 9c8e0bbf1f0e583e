// What the judge knows about each operation: its role, and how its results depend on its operands.

#pragma once

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string>

#include "judge/unwritten/uninitialised.h"

namespace machine {

inline bool between_integers(const std::string& types) {
    return types.find_first_of("fx") == std::string::npos;
}

// The bytes of an operand, or of a half, from the last number in an operation's name. Types give it in bits. A
// conversion keeps no more than the narrower of its two types holds.
inline int bytes_of_operands(const std::string& name) {
    const auto bytes = [](const std::string& type) {
        const size_t at = type.find_first_of("0123456789");
        if (at == std::string::npos) return 4;
        const int number = std::atoi(type.c_str() + at);
        return std::clamp(at ? number / 8 : number, 1, 8);
    };
    const size_t slash = name.rfind('/'), dot = name.rfind('.');
    if (slash == std::string::npos) return 4;
    const std::string types = name.substr(slash + 1);
    const int halves = name.rfind("low/", 0) == 0 || name.rfind("high/", 0) == 0 ? 2 : 1;
    if (dot == std::string::npos || dot < slash) return bytes(types) / halves;
    const int from = bytes(name.substr(dot + 1));
    return between_integers(types) ? std::min(from, bytes(types)) : from;
}

inline Way way_of(const std::string& name) {
    struct Named {
        const char* with;
        Flow flow;
        u8 detail;
    };
    static const Named BY_NAME[] = {
        {"mov/", MOVED, 0}, {"extend/", MOVED, 0}, {"low/", TAKES_LOW, 0}, {"high/", TAKES_HIGH, 0},
        {"join/", JOINED, 0}, {"and/", BITWISE, BY_AND}, {"or/", BITWISE, BY_OR}, {"xor/", BITWISE, BY_XOR},
        {"not/", BITWISE, BY_NOT}, {"lop3/", BY_TABLE, 0}, {"selp/", SELECTED, 0},
        {"more operands", GATHERED, 0}, {"shl/", SHIFTED_LEFT, 0}, {"shr/", SHIFTED_RIGHT, 0},
        {"shf.l.wrap/", FUNNELLED, TO_THE_LEFT}, {"shf.r.wrap/", FUNNELLED, 0},
        {"shf.clamp.l/", FUNNELLED, TO_THE_LEFT | CLAMPED}, {"shf.clamp.r/", FUNNELLED, CLAMPED},
        {"bfe/", FIELD, 0}, {"bfi/", INSERTED, 0}, {"prmt/", PERMUTED, 0}, {"brev/", REVERSED, 0},
    };
    static const Named COMPARISONS[] = {
        {"setp.eq/", COMPARED, EQUAL}, {"setp.ne/", COMPARED, EQUAL}, {"setp.lt/", COMPARED, LESS},
        {"setp.le/", COMPARED, LESS_OR_EQUAL}, {"setp.gt/", COMPARED, GREATER},
        {"setp.ge/", COMPARED, GREATER_OR_EQUAL},
    };
    // These use their operands whole, except for the variants with packed operands (x2).
    static const char* const ARITHMETIC[] = {
        "add", "sub", "mul", "mad", "fma", "div", "rem", "min", "max", "set", "abs", "neg", "sad",
        "rcp", "sqrt", "rsqrt", "ex2", "lg2", "sin", "cos", "tanh", "testp", "cvt", "popc",
    };
    const auto begins = [&](const char* with) { return name.rfind(with, 0) == 0; };
    const size_t slash = name.find('/');
    const std::string types = slash == std::string::npos ? "" : name.substr(slash + 1);
    // If there are two types, the second is the operand's.
    const bool is_signed = types[types.find('.') == std::string::npos ? 0 : types.find('.') + 1] == 's';
    const auto way = [&](Flow flow, u8 detail = 0) {
        return Way{flow, bytes_of_operands(name), is_signed, detail};
    };
    for (const Named& each : BY_NAME)
        if (begins(each.with)) return way(each.flow, each.detail);
    if (between_integers(types)) {
        if (begins("mul.lo/") || begins("mul.wide/")) return way(MULTIPLIED, begins("mul.lo/") ? LOW_HALF : WIDE);
        if (begins("cvt/")) return way(NARROWED);
        for (const Named& each : COMPARISONS)
            if (begins(each.with)) return way(each.flow, each.detail);
    }
    for (const char* with : ARITHMETIC)
        if (begins(with) && name.find("x2") == std::string::npos) return way(COMPUTED);
    return way(PACKED);
}

struct Known {  // of an operation
    Role role;
    Handler handler;
    Way way;
    i32 family;  // groups the warp-wide instructions that wait for each other
};

inline const std::vector<Known>& known() {
    static const std::vector<Known> all = [] {
        std::vector<Known> out;
        std::map<std::string, i32> families;
        for (const Entry& entry : entries()) {
            const std::string name = entry.name, family = name.substr(0, name.find('.'));
            const i32 number = families.emplace(family, families.size()).first->second;
            out.push_back({entry.role, entry.handler, way_of(name), number});
        }
        return out;
    }();
    return all;
}

}  // namespace machine
