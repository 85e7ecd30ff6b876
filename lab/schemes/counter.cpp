// String counter: the value is "owner:count", so that an owner can take the lock again. Commands one by one.
#include "lab/schemes/schemes.hpp"

#include <string>
#include <vector>

namespace holdfast::lab {

namespace {

// As Java's String.split(":").
std::vector<std::string> split(const std::string& value) {
    std::vector<std::string> parts{""};
    for (const char c : value) {
        if (c == ':') {
            parts.emplace_back();
        } else {
            parts.back() += c;
        }
    }
    return parts;
}

struct counter final : scheme {
    using scheme::scheme;

    bool try_lock() {
        const reply value = send("GET", key);
        stop("after_get");
        if (value.nil()) return send("SET", key, owner + ":1", "NX", "PX", ttl) == "OK";
        const auto parts = split(value.text());
        if (parts.size() != 2 || parts[0] != owner) return false;
        return send("SET", key, owner + ":" + argument(std::stoi(parts[1]) + 1), "XX", "PX", ttl) == "OK";
    }

    void lock() override {
        while (!try_lock()) stop("before_retry");
    }

    void unlock() override {
        const auto parts = split(send("GET", key).text());
        if (parts.size() != 2 || parts[0] != owner) return;
        const int count = std::stoi(parts[1]);
        if (count > 1) {
            send("SET", key, owner + ":" + argument(count - 1), "XX", "PX", ttl);
        } else {
            send("DEL", key);
        }
    }
};

}  // namespace

std::unique_ptr<scheme> make_counter(performer& by) { return std::make_unique<counter>(by); }

}  // namespace holdfast::lab
