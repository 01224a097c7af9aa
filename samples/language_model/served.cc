#include "samples/language_model/served.h"

namespace samples {

troupe::FunctionRegistry server_functions() { return {{"word_table", word_table}, {"decoder", decoder}}; }

}  // namespace samples
