// Locks in a ZooKeeper ensemble. docs/stores/zookeeper.md is their manual.
#pragma once

#include "backends/services.hpp"

#include <memory>

namespace holdfast::zookeeper_backend {

// Connects when the first request is made. Throws holdfast::error (errc::invalid_argument) about the URL.
[[nodiscard]] std::unique_ptr<backend::store> open(const backends::services& given);

}  // namespace holdfast::zookeeper_backend
