// Stores that have a register, on real servers, and clients of the register.
#pragma once

#include "backends/registry.hpp"
#include "base/parker.hpp"
#include "io/reactor.hpp"
#include "store/linearizable_register.hpp"
#include "store/store.hpp"
#include "support/eventually.hpp"

#include <holdfast/config.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <variant>

namespace holdfast::test {

using backend::register_value;
using register_answer = backend::result<register_value>;

// Empty: it is a failure.
inline std::optional<register_value> value_in(const register_answer& a) {
    const auto* const value = std::get_if<register_value>(&a);
    return value == nullptr ? std::nullopt : std::optional{*value};
}
// Empty: it is no failure.
inline std::error_code failure_in(const register_answer& a) {
    const auto* const no = std::get_if<backend::failure>(&a);
    return no == nullptr ? std::error_code{} : no->code;
}

// A request whose answer comes later. Blocks in `get`, and lends its thread to the store there.
class register_request {
  public:
    template <class Send>
    register_request(backend::store& on, const Send& send) : on_(on) {
        send([b = box_](register_answer a) {
            b->answer.emplace(std::move(a));
            b->calls.fetch_add(1);
            b->parker.unpark();
        });
    }
    [[nodiscard]] bool is_answered() const { return box_->calls.load() != 0; }
    [[nodiscard]] int calls() const { return box_->calls.load(); }
    [[nodiscard]] register_answer get() {
        const auto until = boot_clock::now() + patience;
        while (!is_answered() && boot_clock::now() < until) {
            on_.run_io(box_->parker, boot_clock::now() + std::chrono::milliseconds{100});
            box_->parker.consume();
        }
        if (!is_answered()) throw std::runtime_error{"the handler is not called"};
        return *box_->answer;
    }

  private:
    struct box {
        base::parker parker;
        std::optional<register_answer> answer;
        std::atomic<int> calls{0};
    };
    backend::store& on_;
    std::shared_ptr<box> box_ = std::make_shared<box>();
};

// A client of its own.
class register_client {
  public:
    explicit register_client(const std::string& url,
                             std::chrono::milliseconds limit = std::chrono::seconds{20})
        : settings_(settings_for_register(url, limit)),
          store_(
              backends::open({reactor_, settings_, base::client_id::make(), [](const backend::notice&) {}})) {
    }

    [[nodiscard]] backend::linearizable_register* its_register() { return store_->as_register(); }

    [[nodiscard]] register_request ask_to_read(const register_value& known = {}) {
        return {*store_, [&](backend::handler<register_answer> done) {
                    its_register()->read("mode", known, deadline(), std::move(done));
                }};
    }
    [[nodiscard]] register_request ask_to_change(std::uint64_t expected, std::string_view text) {
        return {*store_, [&](backend::handler<register_answer> done) {
                    its_register()->change("mode", expected, text, deadline(), std::move(done));
                }};
    }
    register_answer read(const register_value& known = {}) { return ask_to_read(known).get(); }
    register_answer change(std::uint64_t expected, std::string_view text) {
        return ask_to_change(expected, text).get();
    }
    // Where that may fail while a server starts.
    register_value read_in_time() {
        std::optional<register_value> value;
        if (!eventually(patience, [&] { return (value = value_in(read())).has_value(); }))
            throw std::runtime_error{"it cannot be read"};
        return *value;
    }
    void close() { store_.reset(); }

    [[nodiscard]] backend::store& its_store() { return *store_; }
    [[nodiscard]] backend::time_point deadline() const {
        return boot_clock::now() + settings_.answer_timeout;
    }

  private:
    static config settings_for_register(const std::string& url, std::chrono::milliseconds limit) {
        config how;
        how.url = url;
        how.answer_timeout = limit;
        return how;
    }
    const config settings_;
    io::reactor reactor_;
    std::unique_ptr<backend::store> store_;
};

// Where registers are.
class register_place {
  public:
    register_place() = default;
    register_place(const register_place&) = delete;
    register_place& operator=(const register_place&) = delete;
    virtual ~register_place() = default;
    [[nodiscard]] virtual std::string url() const = 0;
};

}  // namespace holdfast::test
