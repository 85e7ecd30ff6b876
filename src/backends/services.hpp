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
};

}  // namespace holdfast::backends
