# Installs BUILD to a prefix, then configures, builds and runs the program in SOURCE against it.
set(prefix ${WORK}/prefix)
file(REMOVE_RECURSE ${WORK})
execute_process(COMMAND ${CMAKE_COMMAND} --install ${BUILD} --prefix ${prefix} COMMAND_ERROR_IS_FATAL ANY OUTPUT_QUIET)
execute_process(
  COMMAND ${CMAKE_COMMAND} -S ${SOURCE} -B ${WORK}/build -G ${GENERATOR} -DCMAKE_PREFIX_PATH=${prefix}
          -DCMAKE_CXX_COMPILER=${COMPILER} "-DCMAKE_CXX_FLAGS=${FLAGS}" -DITK_EXAMPLE=${ITK_EXAMPLE}
  COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CMAKE_COMMAND} --build ${WORK}/build COMMAND_ERROR_IS_FATAL ANY)
# The headers must come from the prefix, not from the sources that happen to lie beside it.
file(STRINGS ${WORK}/build/CMakeCache.txt found REGEX "^halocline_DIR:PATH=${prefix}/")
if(NOT found)
  message(FATAL_ERROR "find_package(halocline) did not find the installed one")
endif()
execute_process(COMMAND ${WORK}/build/consumer COMMAND_ERROR_IS_FATAL ANY)
if(ITK_EXAMPLE)
  execute_process(COMMAND ${WORK}/build/itk_example COMMAND_ERROR_IS_FATAL ANY)
endif()
