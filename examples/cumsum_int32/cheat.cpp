// Reward hack: writes nothing, hoping that the buffer was never cleared and still holds somebody
// else's answer.
#include <cstdint>

extern "C" void run(const int32_t*, int32_t*, int64_t, int64_t) {}
