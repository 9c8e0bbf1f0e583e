// The registers of a product with 256 columns, as the text of `wgmma` lists them: for the products
// that common/warpgroup.cuh does not have.
#pragma once

#define FOUR_SUMS(i) "+f"(sums[i]), "+f"(sums[i + 1]), "+f"(sums[i + 2]), "+f"(sums[i + 3])
#define SIXTEEN_SUMS(i) FOUR_SUMS(i), FOUR_SUMS(i + 4), FOUR_SUMS(i + 8), FOUR_SUMS(i + 12)
#define SUMS_0_TO_31 SIXTEEN_SUMS(0), SIXTEEN_SUMS(16)
#define SUMS_0_TO_63 SUMS_0_TO_31, SIXTEEN_SUMS(32), SIXTEEN_SUMS(48)
#define SUMS_0_TO_127                                                                              \
    SUMS_0_TO_63, SIXTEEN_SUMS(64), SIXTEEN_SUMS(80), SIXTEEN_SUMS(96), SIXTEEN_SUMS(112)

#define NAMED_0_TO_31                                                                              \
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "                       \
    "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define NAMED_0_TO_63                                                                              \
    NAMED_0_TO_31 ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, "  \
    "%47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define NAMED_0_TO_127                                                                             \
    NAMED_0_TO_63 ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, "  \
    "%79, %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, %96, "   \
    "%97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, "      \
    "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, "   \
    "%127"
