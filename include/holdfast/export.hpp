// Marks what the shared library gives to its users; everything else in it is hidden.
#pragma once

#define HOLDFAST_API [[gnu::visibility("default")]]
