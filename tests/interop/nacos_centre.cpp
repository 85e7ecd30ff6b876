#include "server/nacos_centre.hpp"

#include "support/nacos_server.hpp"

#include <memory>

namespace holdfast::test {

nacos_centre& nacos(nacos_centre::version has) {
    static std::unique_ptr<nacos_server> with, without;
    auto& wanted = has == nacos_centre::version::with_long_polls ? with : without;
    if (!wanted) wanted = std::make_unique<nacos_server>(has);
    return *wanted;
}

}  // namespace holdfast::test
