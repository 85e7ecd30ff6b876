// Bronze: SETNX takes the key, DEL releases it. A refused caller sleeps for a moment and calls itself again.
#include "lab/schemes/schemes.hpp"

namespace holdfast::lab {

namespace {

struct bronze final : scheme {
    using scheme::scheme;

    void lock() override {
        const reply taken = send("SETNX", key, "123");
        if (taken == 1) return;
        stop("before_retry");  // the article: sleep(100)
        lock();
    }

    void unlock() override { send("DEL", key); }
};

}  // namespace

std::unique_ptr<scheme> make_bronze(performer& by) { return std::make_unique<bronze>(by); }

}  // namespace holdfast::lab
