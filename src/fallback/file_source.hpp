// Reads the document of a configuration centre from a file, again whenever it changes. Kubernetes, Ansible
// and consul-template write such files.
#pragma once

#include "base/owned_fd.hpp"
#include "fallback/document_filter.hpp"
#include "fallback/source.hpp"
#include "io/reactor.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <variant>

namespace holdfast::fallback {

// A watch on the file itself ends when the file is replaced, as Kubernetes does, so the directory is watched.
// File systems of other machines tell nothing: the file is also read every five seconds.
//
// The file must belong to root or to this user, and nobody else may write it. It is read on the reactor's
// thread.
class file_source : public source {
  public:
    // Calls the handler for the first time before it returns.
    file_source(io::reactor& on, std::string path, handler tell);
    ~file_source() override;

  private:
    void watch_directory();
    void on_change();
    void look();
    void look_in(std::chrono::milliseconds pause);
    [[nodiscard]] std::variant<std::string, unreadable> contents() const;

    io::reactor& reactor_;
    const std::string path_;
    const std::string directory_;
    const handler tell_;

    // Only the reactor's thread uses these.
    std::optional<base::owned_fd> inotify_;
    bool is_watched_ = false;
    io::timer_id timer_;
    std::optional<std::string> half_;  // a bad text that is looked at again
    document_filter filter_;
};

}  // namespace holdfast::fallback
