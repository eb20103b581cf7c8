// OpenCL C of users over arrays.
#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <mutex>

#include "algorithms/expressions/kernel.hpp"
#include "algorithms/projectors/user_projector.hpp"
#include "python/src/core.hpp"
#include "python/src/lazy.hpp"

namespace halocline::python {
namespace {

namespace ex = halocline::expressions;
using Names = std::vector<std::string>;
using Arrays = std::map<std::string, LazyPointer>;

// Numbers of a projector or kernel.
using Table = nb::ndarray<const float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

bool has(const Names& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Arguments in the order of `arguments`; one that is both read and written keeps its old values.
std::vector<ArrayAccess> access_of(const Names& arguments, const Names& written, const Names& read) {
  std::vector<ArrayAccess> result;
  for (const auto& name : arguments)
    result.push_back({name, !has(written, name) ? Access::in : has(read, name) ? Access::inout : Access::out});
  return result;
}

// Those that it writes, as new arrays: what was given never changes.
Arrays call(const ex::Kernel& kernel, const Arrays& given, const Names& written,
            const std::vector<ex::Scalar>& numbers) {
  return guarded([&] {
    const nb::gil_scoped_release released;
    const std::lock_guard lock(lazy_mutex());
    std::map<std::string, ex::Array> arrays;
    if (!given.empty()) record_all(given.begin()->second->space());
    for (const auto& [name, array] : given) arrays[name] = array->array();
    std::map<std::string, ex::Array*> places;
    for (const auto& name : written) arrays[name];
    for (auto& [name, array] : arrays) places[name] = &array;
    kernel(places, numbers);
    Arrays result;
    for (const auto& name : written) result[name] = std::make_shared<Lazy>(arrays.at(name));
    return result;
  });
}

}  // namespace

void add_kernels(nb::module_& module) {
  nb::class_<UserProjector>(module, "UserProjector")
      .def("__init__",
           [](UserProjector* self, const std::string& name, const std::string& source,
              const std::map<std::string, Table>& tables, const std::map<std::string, std::string>& macros) {
             guarded([&] {
               UserProjectorOptions options{{}, macros};
               for (const auto& [table, values] : tables)
                 options.tables[table].assign(values.data(), values.data() + values.size());
               new (self) UserProjector(name, source, std::move(options));
             });
           })
      .def_prop_ro("is_ray_model", &UserProjector::is_ray_model);
  nb::class_<ex::Kernel>(module, "Kernel")
      .def("__init__",
           [](ex::Kernel* self, const std::string& source, const std::string& name, const Names& arguments,
              const Names& written, const Names& read, int halo, const std::map<std::string, std::string>& macros,
              const std::vector<std::pair<std::string, Table>>& tables, const std::array<std::size_t, 3>& group) {
             guarded([&] {
               ex::KernelOptions options{.halo = halo, .macros = macros, .group = group};
               for (const auto& [table, values] : tables)
                 options.tables.push_back({table, {values.data(), values.data() + values.size()}});
               new (self) ex::Kernel(source, name, access_of(arguments, written, read), std::move(options));
             });
           })
      .def("__call__", &call);
  module.def("kernel_operator", [](const ex::Space& space, const ex::Kernel& forward, const ex::Kernel& adjoint,
                                   const std::vector<ex::Scalar>& numbers) {
    return guarded([&] { return ex::kernel_operator(space, forward, adjoint, numbers); });
  });
}

}  // namespace halocline::python
