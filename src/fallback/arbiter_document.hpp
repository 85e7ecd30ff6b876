// The document of a configuration centre in a register of an arbiter: for clients that have an ensemble of
// ZooKeeper or a database, and no configuration centre.
#pragma once

#include "backends/services.hpp"
#include "io/reactor.hpp"
#include "store/linearizable_register.hpp"

#include <memory>
#include <string>
#include <string_view>

namespace holdfast::fallback {

using store_opener = std::unique_ptr<backend::store> (*)(const backends::services&);

//   arbiter:[name=NAME,]URL
// The URL is that of a store with registers: zk://, postgres://, mariadb://, sqlite: or file:. A name has 1
// to 48 letters, digits, '-', '_' and '.'; "default" if there is none.
struct arbiter_address {
    std::string name = "default";
    std::string url;

    // For people, without a password.
    [[nodiscard]] std::string shown() const;
    [[nodiscard]] std::string register_name() const { return "holdfast.switch." + name; }
};
[[nodiscard]] bool is_arbiter(std::string_view source);
// Throws holdfast::error (errc::invalid_argument), without a part of the URL in the text.
[[nodiscard]] arbiter_address parse_arbiter(std::string_view source);

// The register, and the store that has it. Its requests are made on the reactor's thread, and answered there.
class arbiter_document {
  public:
    using answer = backend::result<backend::register_value>;

    // Throws holdfast::error for what cannot be opened, or has no registers.
    arbiter_document(io::reactor& on, const config& of_client, std::string_view source, store_opener open);
    // On another thread than the reactor's. Answers the requests that are left.
    ~arbiter_document();
    arbiter_document(const arbiter_document&) = delete;
    arbiter_document& operator=(const arbiter_document&) = delete;

    void read(backend::time_point deadline, backend::handler<answer> done);
    // See linearizable_register::change(): writes if nobody has written since `before` was read.
    void write(const backend::register_value& before, const std::string& text, backend::time_point deadline,
               backend::handler<answer> done);

  private:
    io::reactor& reactor_;
    const arbiter_address where_;
    const config settings_;
    std::unique_ptr<backend::store> store_;
    backend::linearizable_register* register_ = nullptr;
    backend::register_value known_;  // only the reactor's thread uses it
};

}  // namespace holdfast::fallback
