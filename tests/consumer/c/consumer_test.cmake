# Installs BUILD to a prefix, then builds and runs the programs of DOCS against it: as a CMake project without C++, and by
# pkg-config.
cmake_policy(VERSION 3.25)
set(examples c-example c-patches)
set(prefix ${WORK}/prefix)
file(REMOVE_RECURSE ${WORK})
execute_process(COMMAND ${CMAKE_COMMAND} --install ${BUILD} --prefix ${prefix} COMMAND_ERROR_IS_FATAL ANY OUTPUT_QUIET)
execute_process(
  COMMAND ${CMAKE_COMMAND} -S ${SOURCE} -B ${WORK}/build -G ${GENERATOR} -DCMAKE_PREFIX_PATH=${prefix}
          -DCMAKE_C_COMPILER=${COMPILER} "-DCMAKE_C_FLAGS=${FLAGS}" -DDOCS=${DOCS} "-DEXAMPLES=${examples}"
  COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CMAKE_COMMAND} --build ${WORK}/build COMMAND_ERROR_IS_FATAL ANY)

# The page shows the programs.
file(READ ${DOCS}/c.md page)
foreach(example ${examples})
  execute_process(COMMAND ${WORK}/build/${example} COMMAND_ERROR_IS_FATAL ANY)
  file(READ ${DOCS}/${example}.c program)
  string(FIND "${page}" "```c\n${program}```" at)
  if(at EQUAL -1)
    message(FATAL_ERROR "docs/c.md does not show docs/${example}.c")
  endif()
endforeach()

if(NOT PKG_CONFIG)
  message("skipped: no pkg-config here")
  return()
endif()
set(libraries ${prefix}/${LIBDIR})
set(ENV{PKG_CONFIG_PATH} ${libraries}/pkgconfig)
execute_process(COMMAND ${PKG_CONFIG} --cflags --libs halocline OUTPUT_VARIABLE flags OUTPUT_STRIP_TRAILING_WHITESPACE
                COMMAND_ERROR_IS_FATAL ANY)
separate_arguments(flags UNIX_COMMAND "${FLAGS} ${flags}")
set(ENV{LD_LIBRARY_PATH} "${libraries}:$ENV{LD_LIBRARY_PATH}")
foreach(example ${examples})
  execute_process(COMMAND ${COMPILER} -std=c99 -pedantic -Wall -Wextra -Werror ${DOCS}/${example}.c ${flags}
                          -o ${WORK}/${example} COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND ${WORK}/${example} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
