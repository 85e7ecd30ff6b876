// What a client passes to the store that it opens.
#pragma once

#include "base/random.hpp"
#include "store/store.hpp"

#include <holdfast/config.hpp>

#include <functional>

namespace holdfast::io {
class reactor;
}

namespace holdfast::backends {

struct services {
    io::reactor& reactor;  // outlives the store
    const config& settings;
    base::client_id id;
    std::function<void(const backend::notice&)> notify;  // from any thread; short, never blocks
    // For stores that are made of stores: releases in one of them what an owner may hold, or may be granted
    // later, and repeats that as long as it has to. Empty in tests that do not need it.
    std::function<void(backend::store&, const backend::lock_key&, const owner_id&, std::chrono::milliseconds)>
        undo{};
};

}  // namespace holdfast::backends
