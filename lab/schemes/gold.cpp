// Gold: one command takes the key and sets its time to live. The value is the same for everybody.
#include "lab/schemes/schemes.hpp"

namespace holdfast::lab {

namespace {

struct gold final : scheme {
    using scheme::scheme;

    void lock() override {
        while (send("SET", key, "123", "NX", "PX", ttl).nil()) stop("before_retry");
    }

    void unlock() override { send("DEL", key); }
};

}  // namespace

std::unique_ptr<scheme> make_gold(performer& by) { return std::make_unique<gold>(by); }

}  // namespace holdfast::lab
