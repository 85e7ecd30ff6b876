// An object for a function's static variable.
#pragma once

namespace holdfast::base {

// Never destroyed: a destructor that runs at the end of the process may still use it. Needs no memory, unlike
// one that is made by new.
template <class T>
union never_destroyed {
    T it;

    never_destroyed() : it{} {}
    never_destroyed(const never_destroyed&) = delete;
    never_destroyed& operator=(const never_destroyed&) = delete;
    ~never_destroyed() {}  // NOLINT(modernize-use-equals-default): it would be deleted
};

}  // namespace holdfast::base
