# Builds the command and its tests without ITK, and runs those of files and headers.
execute_process(COMMAND "${CMAKE_COMMAND}" -S "${SOURCE}" -B "${BUILD}" -G "${GENERATOR}" -DCMAKE_BUILD_TYPE=Debug
                        "-DCMAKE_CXX_COMPILER=${COMPILER}" "-DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER}"
                        -DHALOCLINE_WITH_ITK=OFF -DHALOCLINE_BUILD_TESTS=ON -DCMAKE_UNITY_BUILD=ON
                COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND "${CMAKE_COMMAND}" --build "${BUILD}" --target apps_tests COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND "${CMAKE_CTEST_COMMAND}" --test-dir "${BUILD}" --output-on-failure --no-tests=error
                        -R "^(image_file|stored_image|image_series|streamed_image|hostile_headers|hostile_files)_test"
                COMMAND_ERROR_IS_FATAL ANY)
