"""Web pages about the world, as HTML with everything that surrounds an article."""

from evaluation.world.pages.site import Page, Site, slug

__all__ = ["Page", "Site", "slug"]
