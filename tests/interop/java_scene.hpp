// Shared by the tests against Redisson: a Java client of some version and a lock that both use.
#pragma once

#include "interop/kinds.hpp"

namespace holdfast::test {

// "4.7.0" as a part of a test's name.
inline std::string as_identifier(std::string version) {
    std::replace(version.begin(), version.end(), '.', '_');
    return version;
}

// The locks of a test have its name, so that tests do not share locks.
inline std::string own_name() {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    return std::string{test->test_suite_name()} + "." + test->name();
}

// For tests of one kind; the parameter is the version of Redisson.
class java_scene : public ::testing::TestWithParam<const char*> {
  protected:
    const std::string name = own_name();
    peer& java = redisson(GetParam());
    redis_server& server = interop_server();
    client c{without_polls()};

    peer::request ask_java(std::string_view thread, std::string_view verb, std::string_view kind,
                           const std::vector<long>& arguments = {}) {
        return java.ask(thread, verb, kind, name, arguments);
    }
    std::string tell_java(std::string_view thread, std::string_view verb, std::string_view kind,
                          const std::vector<long>& arguments = {}) {
        return ask_java(thread, verb, kind, arguments).get();
    }
};

inline auto both_redissons() { return ::testing::Values(late_redisson_3, newest_redisson); }
inline std::string version_name(const ::testing::TestParamInfo<const char*>& p) {
    return as_identifier(p.param);
}

}  // namespace holdfast::test
