// Registers: each a directory with one node, which has the text. Every change makes a new node and deletes
// the one before, in one transaction.
//
//     /locks/%registers            persistent, never deleted; no lock's name is escaped so
//     /locks/%registers/mode       persistent, made together with its first node
//     /locks/%registers/mode/v-HEX the version in its name; its data never changes
//
// The version is in the name because a node's own version begins at 0 again when somebody has deleted it and
// it is made again: a client would take the new node for the one that it knows, and keep the old text. And a
// number is compared by one quorum write, check(path), without a read before it.
#pragma once

#include "backends/zookeeper/paths.hpp"
#include "store/linearizable_register.hpp"
#include "zookeeper/session.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace holdfast::zookeeper_backend {

// Thread-safe. Handlers are called on the reactor's thread, without a lock.
//
//   step            | sends                                       | then
//   check what is   | multi{check(known)}                         | answer; or look, if it is gone
//   known           |                                             |
//   look            | children                                    | read; or check that there is no directory
//   read            | data, and with it multi{check(what was read)} | answer; or look, if it is gone
//   change          | multi{delete(expected), create(new)}        | answer; or look, if it is gone
//
// A server that was cut off or stopped for a while answers `children` and `data` with what it has, so only a
// multi{check} makes them an answer: a quorum takes part in it, also when it fails.
class registers final : public backend::linearizable_register {
  public:
    registers(std::shared_ptr<zookeeper::session>, const paths&, zookeeper::access);

    void read(std::string_view name, const backend::register_value& known, backend::time_point deadline,
              backend::handler<backend::result<backend::register_value>>) override;
    void change(std::string_view name, std::uint64_t expected, std::string_view text,
                backend::time_point deadline,
                backend::handler<backend::result<backend::register_value>>) override;

  private:
    struct asking;
    using request = std::shared_ptr<asking>;

    [[nodiscard]] request ask(std::string_view name, backend::time_point deadline,
                              backend::handler<backend::result<backend::register_value>>) const;
    void check_known(const request&, const backend::register_value& known);
    void look(const request&);
    void check_absence(const request&);
    void read_node(const request&, const std::string& node);
    void send(const request&, zookeeper::request, zookeeper::session::handler);

    const std::shared_ptr<zookeeper::session> session_;
    const paths& paths_;
    const zookeeper::access access_;
};

}  // namespace holdfast::zookeeper_backend
