"""The service: REST and the page, on Litestar and uvicorn. It translates and holds no rule."""
