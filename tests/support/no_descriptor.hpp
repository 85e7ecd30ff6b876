// All descriptors of this process are in use.
#pragma once

#include "support/unique_fd.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/resource.h>

// Undefined-behaviour sanitizer uses a pipe to find out whether it may read an object: without a descriptor
// it takes sound objects for broken ones.
#if !defined(__SANITIZE_ADDRESS__)
#define HOLDFAST_TESTS_WITHOUT_DESCRIPTORS
#endif

namespace holdfast::test {

// While it lives, this process gets no new descriptor.
class no_descriptor_is_left {
  public:
    no_descriptor_is_left() {
        ::getrlimit(RLIMIT_NOFILE, &before_);
        auto fewer = before_;
        fewer.rlim_cur = 512;
        ::setrlimit(RLIMIT_NOFILE, &fewer);
        take_the_rest();
    }
    // Those that were closed since then.
    void take_the_rest() {
        for (;;) {
            unique_fd one{::open("/dev/null", O_RDONLY | O_CLOEXEC)};
            if (!one) break;
            taken_.push_back(std::move(one));
        }
        EXPECT_EQ(errno, EMFILE);
    }
    no_descriptor_is_left(const no_descriptor_is_left&) = delete;
    no_descriptor_is_left& operator=(const no_descriptor_is_left&) = delete;
    ~no_descriptor_is_left() {
        taken_.clear();
        ::setrlimit(RLIMIT_NOFILE, &before_);
    }

  private:
    rlimit before_{};
    std::vector<unique_fd> taken_;
};

}  // namespace holdfast::test
