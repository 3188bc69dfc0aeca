// Errors of the operating system.
#include "base/result.h"

#include <cerrno>
#include <system_error>

namespace kw {

tl::unexpected<Error> fail_errno(int error_number, const std::string& what) {
  ErrorCode code = ErrorCode::kInternal;
  switch (error_number) {
    case ENOENT:
    case ENOTDIR:
      code = ErrorCode::kNotFound;
      break;
    case EACCES:
    case EPERM:
    case EROFS:
      code = ErrorCode::kPermissionDenied;
      break;
    case EEXIST:
      code = ErrorCode::kAlreadyExists;
      break;
    case ENOMEM:
    case ENOSPC:
    case EMFILE:
    case ENFILE:
    case EAGAIN:
      code = ErrorCode::kResourceExhausted;
      break;
    case ENOSYS:
    case EOPNOTSUPP:
      code = ErrorCode::kUnsupported;
      break;
    case EISDIR:
    case EINVAL:
      code = ErrorCode::kInvalidArgument;
      break;
    default:
      break;
  }
  return fail(code, "{}: {}", what, std::generic_category().message(error_number));
}

}  // namespace kw
