// What the judge knows of each operation: when it is to be judged, and what its results depend on.

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

inline Flow flow_of(const std::string& name) {
    static const std::vector<std::pair<const char*, Flow>> BY_NAME = {
        {"mov/", MOVED}, {"extend/", MOVED}, {"low/", TAKES_LOW}, {"high/", TAKES_HIGH},
        {"join/", JOINED}, {"and/", BY_AND}, {"or/", BY_OR}, {"xor/", BY_BIT}, {"not/", BY_BIT},
        {"selp/", SELECTED}, {"more operands", GATHERED}, {"shl/", SHIFTED_LEFT},
        {"shr/", SHIFTED_RIGHT}, {"bfe/", FIELD},
    };
    // These take their operands as they are, but for those that hold several numbers.
    static const char* const ARITHMETIC[] = {
        "add", "sub", "mul", "mad", "fma", "div", "rem", "min", "max", "set", "abs", "neg", "sad",
        "rcp", "sqrt", "rsqrt", "ex2", "lg2", "sin", "cos", "tanh", "testp", "cvt",
    };
    const auto begins = [&](const char* with) { return name.rfind(with, 0) == 0; };
    for (const auto& [with, flow] : BY_NAME)
        if (begins(with)) return flow;
    if (begins("cvt/") && between_integers(name.substr(4))) return NARROWED;
    for (const char* with : ARITHMETIC)
        if (begins(with) && name.find("x2") == std::string::npos) return COMPUTED;
    return PACKED;
}

// Of an operand, or of a half: the last number of a name. Types have it in bits. A conversion keeps no
// more than the narrower of its two types has.
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

struct Known {  // of an operation
    Role role;
    Handler handler;
    Flow flow;
    int bytes;
    i32 family;  // of warp-wide instructions that wait for each other
};

inline const std::vector<Known>& known() {
    static const std::vector<Known> all = [] {
        std::vector<Known> out;
        std::map<std::string, i32> families;
        for (const Entry& entry : entries()) {
            const std::string name = entry.name, family = name.substr(0, name.find('.'));
            const i32 number = families.emplace(family, families.size()).first->second;
            out.push_back({entry.role, entry.handler, flow_of(name), bytes_of_operands(name), number});
        }
        return out;
    }();
    return all;
}

}  // namespace machine
