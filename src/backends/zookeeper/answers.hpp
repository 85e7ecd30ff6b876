// What an answer of the ensemble means for a request of the store.
#pragma once

#include "backends/zookeeper/paths.hpp"
#include "store/requests.hpp"
#include "zookeeper/session.hpp"

#include <string>

namespace holdfast::zookeeper_backend {

// The request was not carried out, or it was and that means an error.
[[nodiscard]] inline backend::failure failure_of(const zookeeper::answer& a, const std::string& path) {
    using zookeeper::code;
    if (a.how != zookeeper::answer::outcome::answered)
        return {
            a.how == zookeeper::answer::outcome::unknown ? make_error_code(errc::unknown_outcome) : a.reason,
            a.why};
    const auto as = [&](errc e) { return backend::failure{e, "the node " + path, to_text(a.err)}; };
    switch (a.err) {
        case code::no_auth:
        case code::auth_failed:
        case code::invalid_acl: return as(errc::no_permission);
        case code::quota_exceeded: return as(errc::out_of_memory);
        case code::connection_loss:
        case code::operation_timeout: return as(errc::unknown_outcome);
        case code::session_expired:
        case code::session_moved:
        case code::throttled:
        case code::not_read_only: return as(errc::unavailable);
        case code::no_node:
        case code::no_children_for_ephemerals:
        case code::node_exists:
        case code::not_empty: return as(errc::wrong_kind);
        default: return as(errc::bad_reply);  // with code::ok, its body was not what it should be
    }
}

// A node could not be made, though its parents were to be made before.
[[nodiscard]] inline backend::failure no_parent(const paths& where, const std::string& directory) {
    return {errc::invalid_argument,
            where.chroot().empty() ? "the directory " + directory + " cannot be made"
                                   : "the node " + where.chroot() + ", which the URL names, does not exist",
            to_text(zookeeper::code::no_node)};
}

// `refused` or `unknown`.
template <class Answer>
[[nodiscard]] Answer failed(const zookeeper::answer& a, const std::string& path) {
    auto why = failure_of(a, path);
    if (why.code == errc::unknown_outcome) return backend::unknown{std::move(why)};
    return backend::refused{std::move(why), {}};
}

}  // namespace holdfast::zookeeper_backend
