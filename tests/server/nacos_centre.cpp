#include "server/nacos_centre.hpp"

#include "support/fake_nacos.hpp"

namespace holdfast::test {

nacos_centre& nacos(nacos_centre::version has) {
    static fake_nacos with{nacos_centre::version::with_long_polls};
    static fake_nacos without{nacos_centre::version::without_long_polls};
    return has == nacos_centre::version::with_long_polls ? with : without;
}

}  // namespace holdfast::test
